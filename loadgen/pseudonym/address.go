package pseudonym

import (
	"net/netip"
	"strconv"
	"strings"
)

// uidLen is the length of the uid with which text begins, or 0.
func uidLen(text string) int {
	if len(text) < 36 || len(text) > 36 && isWord(text[36]) {
		return 0
	}
	for i := range 36 {
		c := text[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return 0
			}
		} else if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return 0
		}
	}
	return 36
}

// appendUID replaces all digits but those that say which version of uid it is.
func (w *words) appendUID(dst []byte, uid string) []byte {
	w.symbols = w.symbols[:0]
	for i := range len(uid) {
		if uid[i] != '-' && i != 14 && i != 19 {
			w.symbols = append(w.symbols, symbol{hexValue(uid[i]), hexRadix})
		}
	}
	w.permutation.apply(w.symbols)
	k := 0
	for i := range len(uid) {
		if uid[i] == '-' || i == 14 || i == 19 {
			dst = append(dst, uid[i])
			continue
		}
		dst = append(dst, hexDigits[w.symbols[k].value])
		k++
	}
	return dst
}

// addressLen is the length of the IP address with which text begins, or 0. A port may
// follow, or punctuation.
func addressLen(text string) int {
	v4, v6, colons := 0, 0, 0
	for v4 < len(text) && (text[v4] == '.' || text[v4] >= '0' && text[v4] <= '9') {
		v4++
	}
	if n := parsed(text, strings.TrimRight(text[:v4], ".")); n > 0 {
		return n
	}
	for ; v6 < len(text) && isHexOrColon(text[v6]); v6++ {
		if text[v6] == ':' {
			colons++
		}
	}
	if colons < 2 {
		return 0
	}
	if n := parsed(text, text[:v6]); n > 0 {
		return n
	}
	return parsed(text, strings.TrimSuffix(text[:v6], ":"))
}

func isHexOrColon(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' || c == ':'
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
func maskLen(text string) int {
	n := 0
	for n < len(text) && n < len("/128") && (n == 0 && text[n] == '/' || n > 0 && text[n] >= '0' && text[n] <= '9') {
		n++
	}
	if n == 1 {
		return 0
	}
	return n
}

// appendAddress replaces the parts of an address by ones of the same length, so that it
// remains one. Zeros stay, and addresses that mean the same everywhere.
func (w *words) appendAddress(dst []byte, text string) []byte {
	address, mask, _ := strings.Cut(text, "/")
	a, err := netip.ParseAddr(address)
	if err != nil || a.IsUnspecified() || a.IsLoopback() || address == "255.255.255.255" {
		return append(dst, text...)
	}
	if a.Is4() {
		dst = w.appendIPv4(dst, address)
	} else {
		dst = w.appendIPv6(dst, address)
	}
	if mask != "" {
		dst = append(append(dst, '/'), mask...)
	}
	return dst
}

func (w *words) appendIPv4(dst []byte, address string) []byte {
	octets := strings.Split(address, ".")
	w.symbols = w.symbols[:0]
	for _, text := range octets {
		n, _ := strconv.ParseUint(text, 10, 8) // it was parsed
		s := symbol{0, 1}
		switch {
		case n >= 100:
			s = symbol{uint32(n) - 100, 156}
		case n >= 10:
			s = symbol{uint32(n) - 10, 90}
		case n > 0:
			s = symbol{uint32(n) - 1, 9}
		}
		w.symbols = append(w.symbols, s)
	}
	w.permutation.apply(w.symbols)
	for i, s := range w.symbols {
		if i > 0 {
			dst = append(dst, '.')
		}
		lowest := map[uint32]uint32{156: 100, 90: 10, 9: 1, 1: 0}[s.radix]
		dst = strconv.AppendUint(dst, uint64(s.value+lowest), 10)
	}
	return dst
}

func (w *words) appendIPv6(dst []byte, address string) []byte {
	w.symbols = w.symbols[:0]
	for i := range len(address) {
		if address[i] != ':' {
			w.symbols = append(w.symbols, hexSymbol(address, i))
		}
	}
	w.permutation.apply(w.symbols)
	k := 0
	for i := range len(address) {
		if address[i] == ':' {
			dst = append(dst, ':')
			continue
		}
		dst = append(dst, hexDigits[w.symbols[k].value])
		k++
	}
	return dst
}

// hexSymbol is the digit at i of an IPv6 address; that of a group that is zero stays.
func hexSymbol(address string, i int) symbol {
	alone := (i == 0 || address[i-1] == ':') && (i+1 == len(address) || address[i+1] == ':')
	if alone && address[i] == '0' {
		return symbol{0, 1}
	}
	return symbol{hexValue(address[i]), hexRadix}
}
