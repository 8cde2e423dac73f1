import json
text = '0'
for _ in range(30):
    text = f'[{text},{text}]'
json.loads(text)
