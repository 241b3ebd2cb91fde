package latency

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timerFD is an alarm on a timerfd. The descriptor is non-blocking, so that the
// runtime's poller waits for it like for a socket, without a thread of its own.
type timerFD struct{ file *os.File }

func newAlarm() (alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd_create: %w", err)
	}
	return &timerFD{os.NewFile(uintptr(fd), "timerfd")}, nil
}

func (t *timerFD) Set(d time.Duration) error {
	conn, err := t.file.SyscallConn()
	if err != nil {
		return err
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	var setErr error
	if err := conn.Control(func(fd uintptr) { setErr = unix.TimerfdSettime(int(fd), 0, &spec, nil) }); err != nil {
		return err
	}
	return setErr
}

func (t *timerFD) Wait() error {
	var expirations [8]byte
	if _, err := t.file.Read(expirations[:]); err != nil {
		return err
	}
	return nil
}

func (t *timerFD) Close() error { return t.file.Close() }
