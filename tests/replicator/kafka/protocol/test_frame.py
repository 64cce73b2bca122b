from replicator.kafka.protocol.frame import KEPT_SHARE, Frame


def test_a_large_part_is_a_view_of_its_frame_and_a_small_one_a_copy():
    place = memoryview(bytearray(range(80)))
    frame = Frame(place)
    small, large = frame.view(80 // KEPT_SHARE - 1), frame.view(80 // KEPT_SHARE)
    for part in (small, large):
        part[0] = 255
    assert (place[0], place[len(small)]) == (0, 255)
    assert frame.read(1) == bytes([len(small) + len(large)])


def test_the_rest_is_what_was_not_read_yet():
    frame = Frame(memoryview(b"abcd"))
    assert frame.read(1) == b"a"
    assert (bytes(frame.rest()), bytes(frame.rest())) == (b"bcd", b"")
