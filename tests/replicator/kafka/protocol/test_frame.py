from replicator.kafka.protocol.frame import KEPT_SHARE, Frame


def test_a_large_part_is_a_view_of_its_frame_and_a_small_one_a_copy():
    place = memoryview(bytearray(range(80)))
    frame = Frame(place)
    small, large = frame.view(80 // KEPT_SHARE - 1), frame.view(80 // KEPT_SHARE)
    for part in (small, large):
        part[0] = 255
    assert (place[0], place[len(small)]) == (0, 255)
    assert frame.read(1) == bytes([len(small) + len(large)])
