package notify

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/watchbench/watchbench/watcher/setting"
)

// NATS describes a stream.
type NATS struct {
	// Servers of one cluster, `nats://host:port` or, with TLS, `tls://host:port`. Others that these announce are not
	// used.
	Servers []string `json:"servers"`
	// Start of the subjects; empty is `k8s`. Group, version, resource, namespace and name follow, see
	// [NATS](webhooks.md#nats-jetstream).
	Subject string `json:"subject"`
	// Stream that must take the messages; empty is any with the subject.
	Stream string `json:"stream"`
	// File with a user's credentials (JWT and seed), read at each connection.
	CredentialsFile string `json:"credentialsFile"`
	// As for a webhook.
	CAFile string `json:"caFile"`
	// As for a webhook.
	Allow []string `json:"allow"`
	// Longest wait for the stream's acknowledgement, 10 s by default.
	Timeout setting.Duration `json:"timeout"`
}

const reconnectWait = 500 * time.Millisecond

// Validate refuses what could not work; errors name the key.
func (c NATS) Validate() error {
	for i, s := range c.Servers {
		if err := c.checkServer(s); err != nil {
			return KeyError(fmt.Sprintf("servers[%d]", i), "%w", err)
		}
	}
	if err := checkPrefix(c.Subject); err != nil {
		return KeyError("subject", "%w", err)
	}
	if c.CredentialsFile != "" {
		if _, err := os.Stat(c.CredentialsFile); err != nil {
			return KeyError("credentialsFile", "%w", err)
		}
	}
	if c.Timeout < 0 {
		return KeyError("timeout", "is negative, want a time such as %q", "10s")
	}
	return Egress{c.Allow, c.CAFile}.Validate()
}

// checkServer does not repeat what the address holds: it may be a secret.
func (c NATS) checkServer(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Port() == "" || u.Scheme != "nats" && u.Scheme != "tls":
		return errors.New("invalid address, want one such as nats://host:4222 or tls://host:4222")
	case u.User != nil:
		return errors.New("holds a user, want credentialsFile")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return errors.New("has more than a host and a port")
	}
	return checkPort(u.Port())
}

// NATSTarget publishes to one stream.
type NATSTarget struct {
	config NATS
	dial   *Dialer
	// life ends with Close: the client gives neither dialling nor its handshake a context, and
	// holds its lock meanwhile.
	life context.Context //nolint:containedctx // of the NATSTarget, not of a call
	end  context.CancelFunc

	mu     sync.Mutex
	conn   *client.Conn        // guarded by mu; nil before the first delivery
	stream jetstream.JetStream // guarded by mu
}

// NewNATS makes the target of a valid NATS. Nothing is connected before the first Deliver.
func NewNATS(c NATS) (*NATSTarget, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.Subject = cmp.Or(c.Subject, defaultPrefix)
	t := &NATSTarget{config: c, dial: NewDialer(Egress{c.Allow, c.CAFile}, nil)}
	t.life, t.end = context.WithCancel(context.Background())
	return t, nil
}

// dialer makes connections within bounds of the time, which end with the target.
type dialer struct{ *NATSTarget }

// Dial implements the client's CustomDialer.
func (d dialer) Dial(network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(d.life, timeout)
	defer cancel()
	c, err := d.dial.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &conn{c, context.AfterFunc(d.life, func() { _ = c.Close() })}, nil
}

// conn is closed at the end of its target's life at the latest.
type conn struct {
	net.Conn
	forget func() bool
}

func (c *conn) Close() error {
	c.forget()
	return c.Conn.Close()
}

// connect starts the client, which connects again by itself for as long as it is open.
func (t *NATSTarget) connect() (jetstream.JetStream, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.life.Err() != nil {
		return nil, &UnreachableError{Err: client.ErrConnectionClosed}
	}
	if t.conn == nil {
		options := []client.Option{
			client.Name("k8s-watch"), client.SetCustomDialer(dialer{t}), client.SkipHostLookup(),
			client.IgnoreDiscoveredServers(),
			client.RetryOnFailedConnect(true), client.MaxReconnects(-1), client.ReconnectWait(reconnectWait),
			client.ReconnectBufSize(-1), // what cannot be sent fails, and is tried again by its subscription
			client.Timeout(timeout), client.NoCallbacksAfterClientClose(),
		}
		if t.config.CAFile != "" || slices.ContainsFunc(t.config.Servers, func(s string) bool {
			return strings.HasPrefix(s, "tls:")
		}) {
			options = append(options, client.Secure(&tls.Config{MinVersion: tls.VersionTLS12}),
				client.ClientTLSConfig(nil, t.dial.Roots))
		}
		if t.config.CredentialsFile != "" {
			options = append(options, client.UserCredentials(t.config.CredentialsFile))
		}
		conn, err := client.Connect(strings.Join(t.config.Servers, ","), options...)
		if err != nil {
			return nil, &UnreachableError{Err: err}
		}
		if t.stream, err = jetstream.New(conn); err != nil {
			conn.Close()
			return nil, err
		}
		t.conn = conn
	}
	if !t.conn.IsConnected() {
		return nil, &UnreachableError{Err: t.why()}
	}
	return t.stream, nil
}

// why returns the error that keeps the client from its servers. The caller holds mu.
func (t *NATSTarget) why() error {
	if err := t.conn.LastError(); err != nil {
		return err
	}
	return errors.New("the client is connecting")
}

// messageID is the id of an event under a subject. A stream knows ids in all its subjects
// together: with the event's alone, that of a second subscription to it would be dropped.
func (c NATS) messageID(e Event) string {
	if c.Subject == defaultPrefix {
		return e.ID
	}
	return e.ID + " " + c.Subject
}

// Deliver publishes e and waits until the stream has it. The stream itself recognises a
// message that it has by its id.
func (t *NATSTarget) Deliver(ctx context.Context, e Event) error {
	stream, err := t.connect()
	if err != nil {
		return err
	}
	options := []jetstream.PublishOpt{jetstream.WithMsgID(t.config.messageID(e)), jetstream.WithRetryAttempts(0)}
	if t.config.Stream != "" {
		options = append(options, jetstream.WithExpectStream(t.config.Stream))
	}
	ctx, cancel := context.WithTimeout(ctx, t.config.Timeout.Or(defaultTimeout))
	defer cancel()
	_, err = stream.PublishMsg(ctx, &client.Msg{Subject: subjectOf(t.config.Subject, e), Data: e.Body}, options...)
	return natsVerdict(err)
}

// Of JetStream's own errors (server/errors.json of nats-io/nats-server v2.15) a publisher
// without conditions of its own gets these about its message. All others, whatever HTTP-like
// code they have, are about the stream or the account, which somebody may fix: a full
// account (10002), another stream behind the subject (10060), a sealed one (10109).
const (
	messageTooLarge jetstream.ErrorCode = 10054
	headerTooLarge  jetstream.ErrorCode = 10097
)

func natsVerdict(err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, client.ErrMaxPayload):
		return &PermanentError{Reason: TooLarge, Err: err}
	case errors.Is(err, client.ErrBadSubject):
		return &PermanentError{Reason: Refused, Err: err}
	case errors.As(err, &api) && (api.ErrorCode == messageTooLarge || api.ErrorCode == headerTooLarge):
		return &PermanentError{Reason: TooLarge, Err: err}
	case errors.Is(err, client.ErrConnectionClosed), errors.Is(err, client.ErrReconnectBufExceeded),
		errors.Is(err, client.ErrConnectionReconnecting):
		return &UnreachableError{Err: err}
	}
	return err
}

// Close ends the client, and deliveries that are under way.
func (t *NATSTarget) Close() {
	t.end()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		t.conn.Close()
	}
}
