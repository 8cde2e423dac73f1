import os
os.makedirs('a/' + '/'.join('d' * 40))
while True:
    os.rename('a', 'b')
    os.rename('b', 'a')
