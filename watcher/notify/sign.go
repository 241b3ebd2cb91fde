package notify

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/watchbench/watchbench/internal/userfile"
)

const (
	secretPrefix = "whsec_"
	// Lengths of a secret in bytes, as the specification of Standard Webhooks bounds them.
	minSecret, maxSecret = 24, 64
	maxSecrets           = 4
	maxFile              = 4 << 10
)

// parseSecrets reads one secret a line. Errors do not repeat the content.
func parseSecrets(text string) ([][]byte, error) {
	var keys [][]byte
	for line := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == '\n' || c == '\r' }) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		code, ok := strings.CutPrefix(line, secretPrefix)
		if !ok {
			return nil, fmt.Errorf("secret %d does not begin with %s", len(keys)+1, secretPrefix)
		}
		key, err := base64.StdEncoding.DecodeString(code)
		if err != nil {
			return nil, fmt.Errorf("secret %d is not base64 behind %s", len(keys)+1, secretPrefix)
		}
		if len(key) < minSecret || len(key) > maxSecret {
			return nil, fmt.Errorf("secret %d has %d bytes, want %d to %d", len(keys)+1, len(key), minSecret, maxSecret)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 || len(keys) > maxSecrets {
		return nil, fmt.Errorf("%d secrets, want 1 to %d, one a line", len(keys), maxSecrets)
	}
	return keys, nil
}

func readSecrets(file string) ([][]byte, error) {
	if info, err := os.Stat(file); err == nil && info.Size() > maxFile {
		return nil, errors.New("the file is too large to be one of secrets")
	}
	text, err := userfile.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseSecrets(string(text))
}

// sign is the header webhook-signature: one signature for each key, with spaces between.
func sign(keys [][]byte, id, timestamp string, body []byte) string {
	all := make([]string, len(keys))
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		_, _ = io.WriteString(mac, id+"."+timestamp+".")
		_, _ = mac.Write(body)
		all[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(all, " ")
}
