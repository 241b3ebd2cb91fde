package ledger

import "testing"

func TestOnlyUsualTextIsPacked(t *testing.T) {
	const usual = "6fffe7e7-0a1b-4c2d-8e3f-0123456789ab"
	if id, ok := ParseUUID(usual); !ok || FormatUUID(id) != usual {
		t.Errorf("%s came back as %s (%v)", usual, FormatUUID(id), ok)
	}
	for _, odd := range []string{
		"", "u1", "6FFFE7E7-0A1B-4C2D-8E3F-0123456789AB", "6fffe7e70-a1b-4c2d-8e3f-0123456789ab",
		"6fffe7e7-0a1b-4c2d-8e3f-0123456789a-", "6fffe7e7-0a1b-4c2d-8e3f-0123456789ag", "6fffe7e7-0a1b-4c2d-8e3f-0123456789ab0",
	} {
		if id, ok := ParseUUID(odd); ok || id != [16]byte{} {
			t.Errorf("%q was packed: %x", odd, id)
		}
	}
}

func TestParseUUIDDoesNotAllocate(t *testing.T) {
	n := testing.AllocsPerRun(100, func() { ParseUUID("6fffe7e7-0a1b-4c2d-8e3f-0123456789ab") })
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzParseUUID(f *testing.F) {
	f.Add("6fffe7e7-0a1b-4c2d-8e3f-0123456789ab")
	f.Fuzz(func(t *testing.T, text string) {
		if id, ok := ParseUUID(text); ok && FormatUUID(id) != text {
			t.Errorf("%q came back as %q", text, FormatUUID(id))
		}
	})
}
