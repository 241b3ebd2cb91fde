package shape

import (
	"encoding/hex"
	"math/rand/v2"
	"strings"
)

// draw draws what differs from one object to the next.
type draw struct{ *rand.Rand }

func newDraw(seed, stream uint64) draw { return draw{rand.New(rand.NewPCG(seed, stream))} }

// mix spreads a seed; it is the finaliser of splitmix64.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

var (
	nouns = []string{"account", "audit", "basket", "billing", "booking", "cart", "catalog", "checkout", "currency",
		"customer",
		"delivery", "discount", "export", "feed", "gateway", "geo", "identity", "image", "import", "inventory", "invoice",
		"ledger", "loyalty",
		"mail", "media", "notification", "offer", "order", "payment", "price", "profile", "quota", "rating",
		"recommendation", "refund",
		"report", "review", "search", "session", "shipping", "stock", "tax", "token", "tracking", "user", "voucher",
		"warehouse", "webhook"}
	roles = []string{"api", "backend", "cache", "consumer", "controller", "frontend", "indexer", "proxy", "server",
		"sync", "worker"}
	sides = []string{"istio-proxy", "log-shipper", "metrics-agent", "vault-agent", "config-reloader", "otel-collector",
		"cloud-sql-proxy"}
	envs = []string{"URL", "HOST", "PORT", "TIMEOUT_MS", "MAX_CONNECTIONS", "RETRY_LIMIT", "TOPIC", "QUEUE_NAME",
		"LOG_LEVEL",
		"FEATURE_FLAGS", "ENDPOINT", "BUCKET", "REGION", "CREDENTIALS_FILE", "POOL_SIZE", "CACHE_TTL_SECONDS", "JVM_OPTIONS"}
	registries = []string{"registry.example.com", "europe-docker.pkg.example.dev",
		"123456789012.dkr.ecr.eu-west-1.example.com"}
	teams  = []string{"payments", "platform", "growth", "search", "logistics", "identity", "data-eng", "core-services"}
	mounts = []string{"/etc/config", "/var/cache/app", "/etc/tls/private", "/var/lib/data", "/opt/app/plugins",
		"/var/log/app", "/etc/ssl/certs/extra", "/tmp"}
	words = strings.Fields("the a of to request upstream replica client timeout value default route cluster shard " +
		"enabled cache policy " +
		"metrics interval threshold region primary secondary handler queue limit false true connection retries max min " +
		"level http grpc path")
)

func pick(d draw, from []string) string { return from[d.IntN(len(from))] }

// hex is n hexadecimal digits.
func (d draw) hex(n int) string {
	b := make([]byte, (n+1)/2)
	for i := range b {
		b[i] = byte(d.Uint32())
	}
	return hex.EncodeToString(b)[:n]
}

// text is n bytes of settings as people write them: key, number, word.
func (d draw) text(n int) string {
	if n <= 0 {
		return ""
	}
	var b strings.Builder
	b.Grow(n + 32)
	for b.Len() < n {
		b.WriteString(pick(d, nouns))
		b.WriteByte('.')
		b.WriteString(pick(d, words))
		b.WriteByte('=')
		switch d.IntN(4) {
		case 0:
			b.WriteString(d.hex(4 + d.IntN(16)))
		case 1:
			b.WriteString(pick(d, words))
		default:
			b.WriteString(pick(d, nouns) + "-" + pick(d, roles))
		}
		b.WriteByte(';')
	}
	return b.String()[:n]
}

// labelValue is the longest start of a name that a label may have.
func labelValue(name string) string {
	if len(name) > 63 {
		name = name[:63]
	}
	return strings.TrimRight(name, "-._")
}
