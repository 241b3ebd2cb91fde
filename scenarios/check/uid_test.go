package check

import "testing"

func TestUIDsComeBack(t *testing.T) {
	var u uids
	seen := map[uid]string{}
	for _, text := range []string{
		"", "u1", "u2", "6fffe7e7-0a1b-4c2d-8e3f-0123456789ab", "00000000-0000-4000-8000-000000000012",
		"00000000-0000-0000-0000-000000000001", "6FFFE7E7-0A1B-4C2D-8E3F-0123456789AB", "6fffe7e70-a1b-4c2d-8e3f-0123456789ab",
		"6fffe7e7-0a1b-4c2d-8e3f-0123456789a-", "ffffffff-ffff-ffff-ffff-ffffffffffff",
	} {
		id := u.pack(text)
		if other, taken := seen[id]; taken {
			t.Errorf("%q and %q are one", text, other)
		}
		seen[id] = text
		if u.pack(text) != id || u.text(id) != text {
			t.Errorf("%q came back as %q", text, u.text(u.pack(text)))
		}
	}
	if len(u.texts) != 6 {
		t.Errorf("%d texts are kept: %q", len(u.texts), u.texts)
	}
}

func FuzzUID(f *testing.F) {
	f.Add("6fffe7e7-0a1b-4c2d-8e3f-0123456789ab")
	f.Add("00000000-0000-0000-0000-000000000001")
	f.Fuzz(func(t *testing.T, text string) {
		var u uids
		u.pack("another")
		if got := u.text(u.pack(text)); got != text {
			t.Errorf("%q came back as %q", text, got)
		}
	})
}
