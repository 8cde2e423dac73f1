import sys
while True:
    sys.stderr.write('x' * 9999)
