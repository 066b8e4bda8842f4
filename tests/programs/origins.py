"""A client and a server process with a pipe between them: the identity of the client's region travels."""

import os

import fathom

requests, ask = os.pipe()
answers, answer = os.pipe()
if os.fork() == 0:
    for _ in range(3):
        stream, seq = (int(word) for word in os.read(requests, 64).split())
        with fathom.region("serve"):
            fathom.call_origin(stream, seq)
            os.write(answer, b"ok")
    os._exit(0)
for number in range(3):
    with fathom.region("request", number=number):
        os.write(ask, b"%d %d" % fathom.current())
        os.read(answers, 2)
os.wait()
print("done")
