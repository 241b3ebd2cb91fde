package notify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"github.com/watchbench/watchbench/internal/userfile"
	"github.com/watchbench/watchbench/watcher/setting"
)

// Kafka describes a topic.
type Kafka struct {
	// First brokers, `host:port`; those that they name are dialled too.
	Brokers []string `json:"brokers"`
	// Topic, which must exist. The key of a message is the uid of its object.
	Topic string `json:"topic"`
	// Connect by TLS.
	TLS bool `json:"tls"`
	// As for a webhook.
	CAFile string `json:"caFile"`
	// `plain` (needs `tls`), `scram-sha-256` or `scram-sha-512`; empty: no login.
	SASL string `json:"sasl"`
	// User to log in as.
	User string `json:"user"`
	// File with the password of `user`, read at each connection.
	PasswordFile string `json:"passwordFile"`
	// As for a webhook.
	Allow []string `json:"allow"`
	// Longest wait for all in-sync replicas, at least 1 s, 10 s by default.
	Timeout setting.Duration `json:"timeout"`
}

const (
	minTimeout = time.Second // the client's own bound
	// minMetadata is how soon the client asks again who leads, once it got a wrong answer: by default after 5 s.
	minMetadata = 250 * time.Millisecond
)

// topicName and maxTopic are the brokers' rules. A bound within the expression would cost every start 0.2 MB.
var topicName = regexp.MustCompile(`^[a-zA-Z0-9._-]+$`)

const maxTopic = 249 // bytes

// Validate refuses what could not work; errors name the key.
func (c Kafka) Validate() error {
	for i, b := range c.Brokers {
		host, port, err := net.SplitHostPort(b)
		if err != nil || host == "" || strings.ContainsAny(b, "/@?#") {
			return KeyError(fmt.Sprintf("brokers[%d]", i), "invalid address, want host:port")
		}
		if err := checkPort(port); err != nil {
			return KeyError(fmt.Sprintf("brokers[%d]", i), "%w", err)
		}
	}
	switch {
	case !topicName.MatchString(c.Topic) || len(c.Topic) > maxTopic || c.Topic == "." || c.Topic == "..":
		return KeyError("topic", "invalid topic name %q", c.Topic)
	case c.CAFile != "" && !c.TLS:
		return KeyError("caFile", "has no use without tls")
	case c.Timeout != 0 && c.Timeout < setting.Duration(minTimeout):
		return KeyError("timeout", "is less than %s", minTimeout)
	}
	if err := c.checkLogin(); err != nil {
		return err
	}
	return Egress{c.Allow, c.CAFile}.Validate()
}

func (c Kafka) checkLogin() error {
	switch c.SASL {
	case "":
		if c.User != "" || c.PasswordFile != "" {
			return KeyError("sasl", "missing, want plain, scram-sha-256 or scram-sha-512 with user and passwordFile")
		}
		return nil
	case "plain":
		if !c.TLS {
			return KeyError("sasl", "plain shows the password to the network, want tls")
		}
	case "scram-sha-256", "scram-sha-512":
	default:
		return KeyError("sasl", "%q, want plain, scram-sha-256 or scram-sha-512", c.SASL)
	}
	if c.User == "" {
		return KeyError("user", "missing")
	}
	if _, err := os.Stat(c.PasswordFile); err != nil {
		return KeyError("passwordFile", "%w", err)
	}
	return nil
}

func (c Kafka) login() sasl.Mechanism {
	password := func() (string, error) {
		b, err := userfile.ReadFile(c.PasswordFile)
		return strings.TrimRight(string(b), "\r\n"), err
	}
	secret := func(context.Context) (scram.Auth, error) {
		p, err := password()
		return scram.Auth{User: c.User, Pass: p}, err
	}
	switch c.SASL {
	case "plain":
		return plain.Plain(func(context.Context) (plain.Auth, error) {
			p, err := password()
			return plain.Auth{User: c.User, Pass: p}, err
		})
	case "scram-sha-256":
		return scram.Sha256(secret)
	case "scram-sha-512":
		return scram.Sha512(secret)
	}
	return nil
}

// KafkaTarget produces to one topic.
type KafkaTarget struct {
	config Kafka
	dial   *Dialer

	// refused is why the last address could not be dialled; nil once one could.
	refused atomic.Pointer[error]

	mu     sync.Mutex
	client *kgo.Client // guarded by mu; nil before the first delivery
	closed bool        // guarded by mu
}

// NewKafka makes the target of a valid Kafka. Nothing is connected before the first Deliver.
func NewKafka(c Kafka) (*KafkaTarget, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &KafkaTarget{config: c, dial: NewDialer(Egress{c.Allow, c.CAFile}, nil)}, nil
}

// maxBuffered bounds the records in the client: there are as many as a subscription has
// workers, and what the client still tries to send of earlier tries.
const maxBuffered = 1024

// connect starts the client, which connects again by itself for as long as it is open. Its producer is idempotent,
// and waits for all replicas, by default. What was sent and not answered in time is given back to be tried again,
// under a new epoch of the producer: brokers refuse what is still on its way under the old one, so that it does not
// come after newer events.
func (t *KafkaTarget) connect() (*kgo.Client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return nil, &UnreachableError{Err: kgo.ErrClientClosed}
	case t.client != nil:
		return t.client, nil
	}
	options := []kgo.Opt{
		kgo.ClientID("k8s-watch"), kgo.SeedBrokers(t.config.Brokers...), kgo.DefaultProduceTopic(t.config.Topic),
		kgo.Dialer(t.connectTo),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.RecordDeliveryTimeout(t.config.Timeout.Or(defaultTimeout)), kgo.ProducerLinger(0),
		kgo.MetadataMinAge(minMetadata),
		kgo.MaxBufferedRecords(maxBuffered), kgo.DisableClientMetrics(),
		kgo.AllowIdempotentProduceCancellation(),
	}
	if m := t.config.login(); m != nil {
		options = append(options, kgo.SASL(m))
	}
	var err error
	if t.client, err = kgo.NewClient(options...); err != nil {
		return nil, err
	}
	return t.client, nil
}

// connectTo dials a broker. The client itself does not say why a record took too long.
func (t *KafkaTarget) connectTo(ctx context.Context, network, address string) (net.Conn, error) {
	dial := t.dial.Dial
	if t.config.TLS {
		dial = t.dial.DialTLS
	}
	conn, err := dial(ctx, network, address)
	if err != nil {
		t.refused.Store(&err)
		return nil, err
	}
	t.refused.Store(nil)
	return conn, nil
}

// Deliver produces e and waits until the brokers have it.
func (t *KafkaTarget) Deliver(ctx context.Context, e Event) error {
	client, err := t.connect()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.config.Timeout.Or(defaultTimeout))
	defer cancel()
	record := &kgo.Record{
		Key: []byte(e.UID), Value: e.Body,
		Headers: []kgo.RecordHeader{{Key: "id", Value: []byte(e.ID)}, {Key: "type", Value: []byte(e.Type)}},
	}
	err = kafkaVerdict(client.ProduceSync(ctx, record).FirstErr())
	if why := t.refused.Load(); why != nil && (errors.Is(err, kgo.ErrRecordTimeout) ||
		errors.Is(err, context.DeadlineExceeded)) {
		return &UnreachableError{Err: *why}
	}
	return err
}

func kafkaVerdict(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge):
		return &PermanentError{Reason: TooLarge, Err: err}
	case errors.Is(err, kerr.InvalidRecord):
		return &PermanentError{Reason: Refused, Err: err}
	}
	return err
}

// Close ends the client, and deliveries that are under way. What it could not send is lost.
func (t *KafkaTarget) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.client != nil {
		t.client.Close()
	}
}
