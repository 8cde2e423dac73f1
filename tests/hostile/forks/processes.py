import os, subprocess
for attempt in [lambda: os.fork(), lambda: subprocess.run('sh'), lambda: os.system('sh'), lambda: os.execv('/bin/sh', ['sh']), lambda: os.popen('ls').read(), lambda: os.posix_spawn('/bin/sh', ['sh'], {})]:
    try:
        print('started', attempt())
    except (OSError, AttributeError, NotImplementedError):
        pass
