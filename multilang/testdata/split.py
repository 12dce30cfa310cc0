from wire import ack, emit, greet, tuples

greet()
for m in tuples():
    for word in m["tuple"][0].split(" "):
        emit([word], anchors=[m["id"]])
    ack(m)
