//go:build !linux

package latency

import "errors"

func newAlarm() (alarm, error) { return nil, errors.New("only Linux has timerfd") }
