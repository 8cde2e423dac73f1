import sys
sys.stdout.write('x' * 200_000_000)
