package units

import (
	"encoding"
	"testing"
	"time"
)

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{"3KiB": 3072, "1.5KiB": 1536, "3 KiB": 3072, "2MiB": 2 << 20, "1GiB": 1 << 30, "800B": 800, "0B": 0, "3kB": 3000, "3KB": 3000, "1MB": 1e6} {
		var got Size
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%q = %d, %v, want %d", text, got, err, want)
		}
		var back Size
		if err := back.UnmarshalText([]byte(want.String())); err != nil || back != want {
			t.Errorf("%d is written %q, which reads as %d, %v", want, want, back, err)
		}
	}
	for _, text := range []string{"", "3", "3Ki", "-1KiB", "1e99KiB", "NaNB", "infB", "3KiBs", "9999999MiB"} {
		if got := Size(7); got.UnmarshalText([]byte(text)) == nil || got != 7 {
			t.Errorf("%q = %d, want an error and no change", text, got)
		}
	}
}

func TestDuration(t *testing.T) {
	for text, want := range map[string]time.Duration{"45s": 45 * time.Second, "1m30s": 90 * time.Second, "0s": 0, "0": 0, "1.5h": 90 * time.Minute} {
		var got Duration
		if err := got.UnmarshalText([]byte(text)); err != nil || got.Std() != want {
			t.Errorf("%q = %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "5", "5sec", "-1s", "s"} {
		if got := Duration(7); got.UnmarshalText([]byte(text)) == nil || got != 7 {
			t.Errorf("%q = %s, want an error and no change", text, got)
		}
	}
	for d, want := range map[Duration]string{Duration(25 * time.Hour): "25h", Duration(5 * time.Minute): "5m", Duration(3605 * time.Second): "1h0m5s"} {
		if got := d.String(); got != want {
			t.Errorf("%d is written %s, want %s", d, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, text := range []string{"45s", "1h0m5s", "1.5µs", "3KiB", "0.3GiB", "80%", "33.33333333333%", "0%", "120%"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		roundTrip(t, text, new(Duration), new(Duration))
		roundTrip(t, text, new(Size), new(Size))
		roundTrip(t, text, new(Share), new(Share))
	})
}

func roundTrip[T any, P interface {
	*T
	encoding.TextUnmarshaler
	encoding.TextMarshaler
}](t *testing.T, text string, v, back P) {
	if v.UnmarshalText([]byte(text)) != nil {
		return
	}
	out, err := v.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	if err := back.UnmarshalText(out); err != nil || any(*back) != any(*v) {
		t.Errorf("%q is written %q, which reads as %v, %v; want %v", text, out, *back, err, *v)
	}
}
