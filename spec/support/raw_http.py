#!/usr/bin/python3
# raw_http.py - sends bytes to 127.0.0.1:PORT, each text of a JSON list on its own connection, and prints a JSON list of
# what came back until the server closed. An answer that is not closed ends in "<open>". SPDX-License-Identifier: MIT
import json
import socket
import sys


def exchange(text):
    back = b""
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
        s.settimeout(60)
        try:
            try:
                s.sendall(text.encode("latin-1"))
            except ConnectionError:
                pass  # the server answered, and closed before it had read all
            while got := s.recv(1 << 16):
                back += got
        except ConnectionError:
            pass
        except socket.timeout:
            back += b"<open>"
    return back.decode("latin-1")


print(json.dumps([exchange(text) for text in json.load(sys.stdin)]))
