import argparse
import json

parser = argparse.ArgumentParser()
parser.add_argument("--name", default="world")
name = parser.parse_args().name

print("looking for somebody to greet")
print(f"found {name}")
print(json.dumps({"hello": name, "runtime": "python"}))
