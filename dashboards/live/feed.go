package live

import "context"

// maxFed bounds the readings that wait for the page: at four a second, four seconds. Of more,
// the oldest is dropped; each carries the whole state of the run.
const maxFed = 16

// Feed is a Source of readings that somebody else takes.
type Feed struct {
	readings chan Reading
	meter    Meter
}

var _ Source = (*Feed)(nil)

// NewFeed makes an empty feed.
func NewFeed() *Feed { return &Feed{readings: make(chan Reading, maxFed)} }

// Put hands a reading over. It never blocks and may be called by several goroutines.
func (f *Feed) Put(r Reading) {
	for {
		select {
		case f.readings <- r:
			return
		default:
		}
		select {
		case <-f.readings:
		default:
		}
	}
}

// Next implements Source.
func (f *Feed) Next(ctx context.Context) (Frame, error) {
	select {
	case r := <-f.readings:
		return f.meter.Frame(r), nil
	case <-ctx.Done():
		return Frame{}, context.Cause(ctx)
	}
}
