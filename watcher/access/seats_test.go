package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func user(name string) User { return User{Name: name} }

// oneSeat is as on one processor.
func oneSeat() *Seats { return &Seats{free: 1} }

// turns has requests with work of so many steps of a millisecond each come one after the other,
// and returns who worked, step by step.
func turns(t *testing.T, s *Seats, steps int, users ...string) (order []string) {
	t.Helper()
	for i, name := range users {
		go func() {
			seat, err := s.Take(t.Context(), user(name))
			if err != nil {
				t.Error(err)
				return
			}
			defer seat.Leave()
			for range steps {
				order = append(order, fmt.Sprint(name, i))
				time.Sleep(time.Millisecond)
				if err := seat.Step(t.Context()); err != nil {
					t.Error(err)
				}
			}
		}()
		synctest.Wait()
	}
	time.Sleep(time.Minute)
	synctest.Wait()
	return order
}

// TestSeatsTurns: of one user the first to come is served first, and users take turns.
func TestSeatsTurns(t *testing.T) {
	for _, tc := range []struct {
		name        string
		users, want []string
	}{
		{"one user", []string{"a", "a"}, []string{"a0", "a0", "a0", "a1", "a1", "a1"}},
		{"another comes last", []string{"a", "a", "b"}, []string{"a0", "b2", "a0", "b2", "a0", "b2", "a1", "a1", "a1"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			if got := turns(t, oneSeat(), 3, tc.users...); !slices.Equal(got, tc.want) {
				t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
			}
		})
	}
}

// TestSeatsRest: work takes half of the time at most.
func TestSeatsRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seat := must(oneSeat().Take(t.Context(), user("a")))
		began := time.Now()
		for range 100 {
			time.Sleep(time.Millisecond)
			_ = seat.Step(t.Context())
		}
		if took := time.Since(began); took != 200*time.Millisecond {
			t.Errorf("100 ms of work took %s, want 200ms", took)
		}
		seat.Leave()
	})
}

// TestSeatsWithout: who waits for a client lets others work, and goes on before them; what it
// waits does not count as work.
func TestSeatsWithout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := oneSeat()
		first := must(s.Take(t.Context(), user("a")))
		var order []string
		go func() {
			second, err := s.Take(t.Context(), user("a"))
			if err != nil {
				t.Error(err)
				return
			}
			for i := range 3 {
				order = append(order, fmt.Sprint("second ", i))
				time.Sleep(40 * time.Millisecond)
				_ = second.Step(t.Context())
			}
			second.Leave()
		}()
		synctest.Wait()
		_ = first.Without(t.Context(), func() error { time.Sleep(50 * time.Millisecond); return nil })
		order = append(order, "first")
		time.Sleep(10 * time.Millisecond)
		first.Leave()
		time.Sleep(time.Second)
		synctest.Wait()
		if want := []string{"second 0", "first", "second 1", "second 2"}; !slices.Equal(order, want) {
			t.Errorf("%v, want %v", order, want)
		}
		if s.free != 1 || len(s.flows) != 0 {
			t.Errorf("afterwards: %+v", s)
		}
	})
}

// TestSeatsQueue: a queue is bounded, in length and time, for each user on its own, and who goes
// away leaves nothing behind.
func TestSeatsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := oneSeat()
		holder := must(s.Take(t.Context(), user("holder")))
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the client is gone")
		results := make(chan error)
		wait := func(ctx context.Context, name string) {
			_, err := s.Take(ctx, user(name))
			results <- err
		}
		for range mostQueued - 1 {
			go wait(t.Context(), "a")
		}
		go wait(ctx, "a")
		synctest.Wait()
		began := time.Now()
		if _, err := s.Take(t.Context(), user("a")); !errors.Is(err, ErrNoSeat) || time.Since(began) > 0 {
			t.Errorf("one more of a: %v after %s, want %v at once", err, time.Since(began), ErrNoSeat)
		}
		go wait(t.Context(), "b")
		synctest.Wait()
		if s.Waiting() != mostQueued+1 {
			t.Errorf("%d wait, want %d of a and one of b", s.Waiting(), mostQueued)
		}
		cancel(gone)
		if err := <-results; !errors.Is(err, gone) {
			t.Errorf("gone: %v", err)
		}
		for range mostQueued {
			if err := <-results; !errors.Is(err, ErrNoSeat) || time.Since(began) != queueWait {
				t.Errorf("%v after %s, want %v after %s", err, time.Since(began), ErrNoSeat, queueWait)
			}
		}
		holder.Leave()
		if s.free != 1 || len(s.flows) != 0 {
			t.Errorf("afterwards: %+v", s)
		}
	})
}

// TestSeatsBegun: of one user's answers, few wait for their clients at a time.
func TestSeatsBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := oneSeat()
		var begun atomic.Int64
		for range 3 * mostBegun {
			go func() {
				seat, err := s.Take(t.Context(), user("a"))
				if err != nil {
					t.Error(err)
					return
				}
				begun.Add(1)
				_ = seat.Without(t.Context(), func() error { time.Sleep(time.Second); return nil })
				seat.Leave()
			}()
		}
		synctest.Wait()
		if begun.Load() != mostBegun {
			t.Errorf("%d have begun, want %d", begun.Load(), mostBegun)
		}
		time.Sleep(2500 * time.Millisecond)
		if begun.Load() != 3*mostBegun {
			t.Errorf("%d have begun after two seconds, want all %d", begun.Load(), 3*mostBegun)
		}
		time.Sleep(time.Second)
	})
}

// TestSeatsManyUsers: a request each of many users is bounded, too.
func TestSeatsManyUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := oneSeat()
		holder := must(s.Take(t.Context(), user("holder")))
		var refused atomic.Int64
		for i := range mostWaits + 10 {
			go func() {
				seat, err := s.Take(t.Context(), user(fmt.Sprint(i)))
				if err != nil {
					refused.Add(1)
				}
				seat.Leave()
			}()
		}
		synctest.Wait()
		if refused.Load() != 10 || len(s.flows) != mostWaits+1 {
			t.Errorf("%d refused, %d users; want 10, and %d", refused.Load(), len(s.flows), mostWaits+1)
		}
		holder.Leave()
	})
}
