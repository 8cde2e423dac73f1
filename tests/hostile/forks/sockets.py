import socket
while True:
    for attempt in [lambda: socket.socket(), lambda: socket.create_connection(('127.0.0.1', 80)), lambda: socket.getaddrinfo('localhost', 80)]:
        try:
            print('connected', attempt())
        except (OSError, AttributeError):
            pass
