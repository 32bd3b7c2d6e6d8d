"""Signals end a wait and are counted; nothing of them is left behind."""

import os
import signal
import threading

from memfs.fuse.signals import INTERRUPT, STOP, Signals


def test_every_signal_that_asks_to_stop_is_counted() -> None:
    with Signals() as signals:
        for number in STOP:
            os.kill(os.getpid(), number)
            signals.wait(20)

    assert len(STOP) == signals.asked


def test_a_signal_that_another_thread_receives_ends_the_wait_too() -> None:
    with Signals() as signals:
        thread = threading.Thread(target=lambda: signal.pthread_kill(threading.get_ident(), signal.SIGTERM))
        thread.start()
        signals.wait(20)
        thread.join()

    assert 1 == signals.asked


def test_waking_ends_the_wait_and_asks_for_nothing() -> None:
    with Signals() as signals:
        threading.Thread(target=signals.wake).start()
        signals.wait(20)

        assert 0 == signals.asked


def test_an_interruption_asks_for_nothing() -> None:
    with Signals() as signals:
        os.kill(os.getpid(), INTERRUPT)
        signals.wait(20)

    assert 0 == signals.asked


def test_the_former_handlers_come_back() -> None:
    before = [signal.getsignal(number) for number in (*STOP, INTERRUPT)]

    with Signals():
        assert before != [signal.getsignal(number) for number in (*STOP, INTERRUPT)]

    assert before == [signal.getsignal(number) for number in (*STOP, INTERRUPT)]
