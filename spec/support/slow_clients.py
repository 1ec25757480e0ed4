#!/usr/bin/python3
# slow_clients.py - clients that harm a server: slow_clients.py PORT WHAT, until it is killed. WHAT: "idle" opens 100
# connections and sends nothing; "slow" has 20 that send a request a byte at a time; "deaf" has 20 that ask for
# everything and read nothing; "many" opens 1,000 and sends half a request on each; "gone" asks 1,000 times for
# everything and closes the connection at once, by a reset. It says "ready" when they are connected.
# SPDX-License-Identifier: MIT
import resource
import socket
import struct
import sys
import time

port, what = int(sys.argv[1]), sys.argv[2]
clients = []
resource.setrlimit(resource.RLIMIT_NOFILE, (min(1100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]),) * 2)
for _ in range({"idle": 100, "many": 1000, "gone": 1000}.get(what, 20)):
    s = socket.socket()
    if what == "gone":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if what == "deaf":
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    s.connect(("127.0.0.1", port))
    if what == "deaf":
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 4)
    elif what == "many":
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: ")
    elif what == "gone":
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        s.close()
        continue
    clients.append(s)
print("ready", flush=True)
for byte in b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 10000:
    for s in clients if what == "slow" else []:
        try:
            s.send(bytes([byte]))
        except OSError:
            pass
    time.sleep(0.2)
