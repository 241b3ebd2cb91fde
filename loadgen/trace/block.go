package trace

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

const (
	// blockBytes is how much text a Writer collects before it compresses: larger blocks
	// hardly compress better, smaller ones lose.
	blockBytes = 1 << 20
	// maxObject bounds one object. etcd refuses requests above 1.5 MiB by default; JSON
	// of what is stored as protobuf is larger.
	maxObject = 16 << 20
	// maxBlock bounds the text of one block, and with it the memory that a damaged file
	// can ask for.
	maxBlock = blockBytes + maxObject + lineBytes
	// lineBytes bounds what a line has beside its object.
	lineBytes = 512
	// maxResources bounds the header. Clusters have a few hundred.
	maxResources = 4096
	// maxHeader bounds its text: decoded, a damaged one may take a hundred times as much.
	maxHeader = 1 << 20
)

// kind of a block.
type kind byte

const (
	headerBlock kind = 'H'
	framesBlock kind = 'F'
	endBlock    kind = 'E'
)

// A block begins with a zstd skippable frame of this layout, integers little-endian:
// The layout is the same in all versions of the format.
//
//	0  skippable frame magic, 32 bits
//	4  size of what follows, 32 bits: 28
//	8  "wbtr"
//	12 format version
//	13 kind of the block
//	14 two bytes of zero
//	16 number of the block from 0, 32 bits
//	20 lines, 32 bits
//	24 bytes of text, 32 bits
//	28 bytes compressed, 32 bits
//	32 CRC-32C of bytes 0 to 31 and the compressed bytes, 32 bits
const (
	preambleBytes  = 36
	skippableMagic = 0x184D2A5E
	mark           = "wbtr"
)

type preamble struct {
	version byte
	kind    kind
	number  uint32
	lines   uint32
	text    uint32
	packed  uint32
	crc     uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the preamble with the checksum of itself and the compressed bytes.
func (p preamble) encode(packed []byte) []byte {
	b := make([]byte, 0, preambleBytes)
	b = binary.LittleEndian.AppendUint32(b, skippableMagic)
	b = binary.LittleEndian.AppendUint32(b, preambleBytes-8)
	b = append(b, mark...)
	b = append(b, p.version, byte(p.kind), 0, 0)
	for _, n := range []uint32{p.number, p.lines, p.text, p.packed} {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return binary.LittleEndian.AppendUint32(b, checksum(b, packed))
}

func checksum(preamble, packed []byte) uint32 {
	return crc32.Update(crc32.Checksum(preamble, castagnoli), castagnoli, packed)
}

var (
	errNoBlock  = errors.New("no block begins here")
	errChecksum = errors.New("the checksum of the block does not fit its bytes")
)

// decodePreamble reads the preamble that b holds. Apart from the marks nothing is known
// to be right before the checksum fits.
func decodePreamble(b []byte) (preamble, error) {
	if binary.LittleEndian.Uint32(b) != skippableMagic || binary.LittleEndian.Uint32(b[4:]) != preambleBytes-8 || string(b[8:12]) != mark {
		return preamble{}, errNoBlock
	}
	return preamble{
		version: b[12], kind: kind(b[13]),
		number: binary.LittleEndian.Uint32(b[16:]),
		lines:  binary.LittleEndian.Uint32(b[20:]),
		text:   binary.LittleEndian.Uint32(b[24:]),
		packed: binary.LittleEndian.Uint32(b[28:]),
		crc:    binary.LittleEndian.Uint32(b[32:]),
	}, nil
}
