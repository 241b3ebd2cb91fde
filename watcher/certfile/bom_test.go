package certfile

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/watchbench/watchbench/internal/certs"
	"github.com/watchbench/watchbench/internal/userfile"
)

// TestByteOrderMark: certificates and keys are read with one of UTF-8, and UTF-16 is named.
func TestByteOrderMark(t *testing.T) {
	dir := t.TempDir()
	ca, err := certs.NewAuthority("ca", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := ca.Issue(certs.Server{Name: "s", DNSNames: []string{"s"}})
	if err != nil {
		t.Fatal(err)
	}
	files := []string{filepath.Join(dir, "ca.pem"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	if err := errors.Join(os.WriteFile(files[0], ca.PEM(), 0o600), certs.WriteFiles(cert, files[1], files[2])); err != nil {
		t.Fatal(err)
	}
	mark := func(mark string) {
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, append([]byte(mark), data...), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := func() []error {
		_, pool := Pool(files[0])
		_, pair := Pair(files[1], files[2])
		return []error{pool, pair}
	}
	mark("\ufeff")
	for _, err := range read() {
		if err != nil {
			t.Error(err)
		}
	}
	mark("\xff\xfe")
	for _, err := range read() {
		var utf16 *userfile.UTF16Error
		if !errors.As(err, &utf16) {
			t.Error(err)
		}
	}
}
