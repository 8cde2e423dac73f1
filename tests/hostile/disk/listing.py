import os
for n in range(3000):
    open(str(n), 'w').close()
while True:
    os.listdir()
