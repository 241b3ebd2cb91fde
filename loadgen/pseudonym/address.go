package pseudonym

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
)

var (
	uid  = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	mask = regexp.MustCompile(`^/[0-9]{1,3}`)
)

const uidLength = 36

// uidLen is the length of the uid with which text begins, or 0.
func uidLen(text string) int {
	if len(text) < uidLength || text[8] != '-' || len(text) > uidLength && isWord(text[uidLength]) ||
		!uid.MatchString(text[:uidLength]) {
		return 0
	}
	return uidLength
}

// appendUID replaces all digits but those that say which version of uid it is.
func (w *words) appendUID(dst []byte, uid string) []byte {
	w.spell(len(uid), func(i int) symbol {
		if uid[i] == '-' || i == 14 || i == 19 {
			return fixed(uid, i)
		}
		return hexadecimal(uid[i])
	})
	return w.permuted(dst)
}

// addressLen is the length of the IP address with which text begins, or 0. A port may
// follow, or punctuation.
func addressLen(text string) int {
	v4 := len(text) - len(strings.TrimLeft(text, ".0123456789"))
	if n := parsed(text, strings.TrimRight(text[:v4], ".")); n > 0 {
		return n
	}
	v6 := len(text) - len(strings.TrimLeft(text, ":0123456789abcdefABCDEF"))
	within := v6+1 < len(text) && text[v6] == '.' && isWord(text[v6+1]) // there is an IPv4 address
	if within || strings.Count(text[:v6], ":") < 2 {
		return 0
	}
	return max(parsed(text, text[:v6]), parsed(text, strings.TrimSuffix(text[:v6], ":")))
}

// parsed is the length of begin if text begins with it, no word goes on and it is an
// address.
func parsed(text, begin string) int {
	const longest = len("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff")
	if len(begin) > longest || len(begin) < len("::") || len(begin) < len(text) && isWord(text[len(begin)]) {
		return 0
	}
	if _, err := netip.ParseAddr(begin); err != nil {
		return 0
	}
	return len(begin)
}

// maskLen is the length of the /24 that makes an address a network.
func maskLen(text string) int { return len(mask.FindString(text)) }

// appendAddress replaces the parts of an address by ones of the same length, so that it
// remains one. Zeros stay, and addresses that mean the same everywhere.
func (w *words) appendAddress(dst []byte, text string) []byte {
	address, _, _ := strings.Cut(text, "/")
	a, err := netip.ParseAddr(address)
	if err != nil || a.IsUnspecified() || a.IsLoopback() || address == "255.255.255.255" {
		return append(dst, text...)
	}
	if a.Is4() {
		w.spellIPv4(address)
	} else {
		w.spell(len(address), func(i int) symbol { return groupSymbol(address, i) })
	}
	return append(w.permuted(dst), text[len(address):]...)
}

func (w *words) spellIPv4(address string) {
	w.symbols = w.symbols[:0]
	for i, text := range strings.Split(address, ".") {
		if i > 0 {
			w.symbols = append(w.symbols, fixed(".", 0))
		}
		n, _ := strconv.ParseUint(text, 10, 8) // it was parsed
		s := symbol{radix: 1}
		switch {
		case n >= 100:
			s = symbol{value: uint32(n) - 100, radix: 156, least: 100}
		case n >= 10:
			s = symbol{value: uint32(n) - 10, radix: 90, least: 10}
		case n > 0:
			s = symbol{value: uint32(n) - 1, radix: 9, least: 1}
		}
		w.symbols = append(w.symbols, s)
	}
}

// groupSymbol is the digit at i of an IPv6 address; that of a group that is zero stays.
func groupSymbol(address string, i int) symbol {
	alone := (i == 0 || address[i-1] == ':') && (i+1 == len(address) || address[i+1] == ':')
	if address[i] == ':' || alone && address[i] == '0' {
		return fixed(address, i)
	}
	return hexadecimal(address[i])
}
