package record

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// planted are the objects of a recording. A secret stands in «», one whose very shape must go in ‹›; "#…" is a number
// and no text.
var planted = []struct{ version, kind, object string }{
	{"acme.example/v1", "Vault", `
		{"metadata":{"name":"v","namespace":"shop","generation":3,"annotations":{"acme.example/token":"‹Summer2024!›",
		"acme.example/json":"{\"pin\":\"‹903517›\"}"},"managedFields":[{"manager":"m","operation":"Apply",
		"fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:«Tr0ub4dor&3»":{},"k:{\"pin\":«730264»}":{},
		"v:\"«hamster-Wheel-77»\"":{},"v:«558812»":{}}}}]},"spec":{"storage":{"password":"«4111111111111111»","pins":[
		"«77120934»","#31415926"]},"default":{"pin":"«8439»"},"max":{"token":"«8439e21»"},"min":{"code":"«-90210m»"},
		"usage":{"key":"«5105105105105100»"},"limits":{"cpu":"«60224Ki»"},"requests":{"otp":"«287082»"},
		"hard":{"k":"«1e4711»"},"used":{"k":"«3.14159»"},"capacity":"«8675309»",
		"overhead":{"podFixed":{"cpu":"«12348765m»"}},"divisor":"«99881»","averageValue":"«66554433»",
		"resources":{"limits":{"memory":"«19283746Mi»"},"requests":{"storage":"«7777123Gi»"}},"sizeLimit":[
		"«42424242Ti»"]}}`},
	{"acme.example/v1", "Vault", `
		{"metadata":{"name":"numbers"},"spec":{"pin":"#4711","card":"#5500005555555559","floats":["#2718.28",
		"#-60221.5","#1.61803e+21","#0.57721"],"default":"#8128","ports":[{"pin":"#20252"}],
		"limits":{"max":"#496721"}},"status":{"code":"#19937","resourceVersion":"«6174617»"}}`},
	{"acme.example/v1", "Vault", `
		{"metadata":{"name":"shapes"},"spec":{"dsn":"postgres://app:«hunter2-xyzzy»@db.example:5432/x?sslmode=off",
		"url":"https://u:«p%40ssW0rd-zork»@h.example/?token=«ghp_16C7e42F292c6912E7»",
		"base64":"«aHVudGVyMi1wbHVnaA==»","hex":"«68756e746572322d706c756768»",
		"jwt":"«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJwbHVnaCJ9.c2lnbmF0dXJl»",
		"json":"{\"user\":\"x\",\"pass\":\"«Grue-4321!»\",\"list\":[«5318008»]}","lines":"first\n«Frobozz99»\n",
		"«sk_live_51HxYz»":{"«mapkey-Quux8»":"«valueOf-Quux9»"},"list":[["«Nested1234»"],{"a":["«Deeper5678»"]}],
		"card":"«4012 8888 8888 1881»","apiVersion":"«v80085123»","uid":"«c0ffee00-dead-4bad-8eef-feedfacecafe»",
		"ip":"«203.0.113.77»","mixed":"«CorrectHorse9»","utf8":"«geheimniß77x»","name":"«n4m3d-S3cret»",
		"timezone":"«20261128T0329»"}}`},
	{"acme.example/v1", "Vault", `
		{"metadata":{"name":"carriers"},"spec":{"headers":{"Authorization":"‹Basic dXNlcjpxd2VydHk4OA==›"},
		"requestHeaders":[{"name":"X-Key","value":"‹Bearer abcdef-0123›"}],"headersToAdd":["‹X-Api-Key: Zxcvb9876›"],
		"env":{"PGPASSWORD":"‹Winter2023?›"},"extraEnv":[{"name":"A","value":"‹Autumn2022.›"}],"args":[
		"‹--password=Spring2021›","#360360"],"command":["sh","-c","‹curl -u root:toor1234›"],
		"podAnnotations":{"a":"‹Plover-1977›"},"extraArgs":{"pass":"‹Xyzzy-1976›"},"template":{"spec":{"containers":[
		{"env":[{"name":"B","value":"‹Maze_5150›"}],"resources":{"limits":{"cpu":"«13579246m»"}}}]}}}}`},
	{"serving.acme.example/v1", "Pod", `
		{"metadata":{"name":"namesake"},"spec":{"containers":[{"resources":{"limits":{"cpu":"«97531864»"}},"ports":[
		{"containerPort":"#64738"}]}]}}`},
	{"v1", "Pod", `
		{"metadata":{"name":"p","resourceVersion":"7","annotations":{"prometheus.io/password":"‹Lantern-1234›",
		"kubectl.kubernetes.io/last-applied-configuration":"{\"spec\":{\"pw\":\"‹Sword&Shield5›\"}}"}},
		"spec":{"containers":[{"name":"c","image":"i","args":["‹--token=abcd.efgh1234›","‹--limits=60200m›"],
		"command":["‹/run --pin 2468024›"],"env":[{"name":"DB_DSN","value":"‹mysql://u:Zork1980@db/x›"},{"name":"PIN",
		"value":"‹1357›"},{"name":"AT","value":"‹2026-01-02T03:04:05Z›"}],"livenessProbe":{"httpGet":{"port":80,
		"httpHeaders":[{"name":"Authorization","value":"‹Basic YWRtaW46UzNjcjN0UGFzcw==›"}]},"exec":{"command":[
		"‹check -p Dungeon77›"]}},"lifecycle":{"preStop":{"httpGet":{"port":80,"httpHeaders":[{"name":"X",
		"value":"‹Elvish-Blade9›"}]}}}}]},"status":{"message":"could not log in with «Flathead-800»"}}`},
	{"apps/v1", "Deployment", `
		{"metadata":{"name":"d"},"spec":{"template":{"metadata":{"annotations":{"vault":"‹Thief-4242›"}},
		"spec":{"initContainers":[{"name":"i","env":[{"name":"X","value":"‹Cyclops-31›"}]}]}}}}`},
	{"apps/v1", "ControllerRevision", `
		{"metadata":{"name":"r"},"data":{"spec":{"template":{"spec":{"containers":[{"args":["‹Troll-1138›"],
		"resources":{"limits":{"cpu":"«24680135»"}}}]}},"pin":"#271828"}}}`},
	{"apiextensions.k8s.io/v1", "CustomResourceDefinition", `
		{"metadata":{"name":"d"},"spec":{"versions":[{"schema":{"openAPIV3Schema":{"properties":{"pin":{
		"default":"#19640229","enum":["#55512","«Plugh-7007»"],"example":{"card":"#30569309025904"}}}}}}]}}`},
	{"v1", "ConfigMap", `
		{"metadata":{"name":"c"},"data":{"limits":"«password=Loud-Room7»",
		"app.yaml":"storage:\n  password: «9876598765»\n"},"binaryData":{"max":"«VHJlYXN1cmUtMTIz»"}}`},
	{"v1", "Secret", `
		{"metadata":{"name":"s","annotations":{"a":"«Scarab-555»"}},"data":{"storage-«Qwop1234»":"«SGFkZXMtOTk5OQ==»",
		"default":"«ODY3NTMwOTg=»"},"stringData":{"pin":"«40414243»"}}`},
}

var (
	number    = regexp.MustCompile(`"#([^"]*)"`)
	secret    = regexp.MustCompile(`«([^»]*)»|‹([^›]*)›|"#([^"]*)"`)
	run       = regexp.MustCompile(`[\pL\pN]{4,}`)
	unmarked  = strings.NewReplacer("«", "", "»", "", "‹", "", "›", "")
	printable = regexp.MustCompile(`^[ -~]*$`)
)

// TestPlantedSecrets: of nothing that people put into objects does any part remain, in whatever place and encoding, and
// of what carries most passwords not even the shape.
func TestPlantedSecrets(t *testing.T) {
	p, secrets := newMasker(salt, true), 0
	for _, o := range planted {
		plain := number.ReplaceAllString(o.object, "$1")
		plain = unmarked.Replace(plain)
		got, err := p.object(schema.FromAPIVersionAndKind(o.version, o.kind), []byte(plain))
		if err != nil || !json.Valid(got) {
			t.Fatalf("%s: %v: %s", o.kind, err, got)
		}
		seen := strings.Join(append(tokens(t, string(got)), string(got)), "\n")
		for _, text := range tokens(t, string(got)) {
			for _, inner := range decoded(text) {
				seen += "\n" + inner
			}
		}
		seen = strings.ToLower(seen)
		for _, match := range secret.FindAllStringSubmatch(o.object, -1) {
			one := strings.ReplaceAll(match[1]+match[2]+match[3], `\"`, `"`)
			secrets++
			if shows(strings.ToLower(plain), one) == "" {
				t.Errorf("%s: the search does not find %q where nothing is replaced", o.kind, one)
			}
			if part := shows(seen, one); part != "" {
				t.Errorf("%s: %q of %q shows: %s", o.kind, part, one, around(seen, part))
			}
		}
		after := tokens(t, string(got))
		for _, text := range tokens(t, o.object) {
			if strings.Contains(text, "‹") && !slices.Contains(after, p.filler(unmarked.Replace(text))) {
				t.Errorf("%s: %s became no filler: %s", o.kind, text, got)
			}
		}
	}
	if secrets < 90 {
		t.Errorf("only %d secrets were judged", secrets)
	}
}

// shows returns a part of a secret that a text in lower case has, in whatever encoding.
func shows(text, secret string) string {
	encoded := []string{base64.StdEncoding.EncodeToString([]byte(secret)), hex.EncodeToString([]byte(secret)), secret}
	for _, form := range append(encoded, decoded(secret)...) {
		for _, part := range append(run.FindAllString(form, -1), form) {
			if len(part) >= 4 && strings.Contains(text, strings.ToLower(part)) {
				return part
			}
		}
	}
	return ""
}

// tokens are the keys and values of an object in their order.
func tokens(t *testing.T, object string) (all []string) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(object))
	d.UseNumber()
	for d.More() || len(all) > 0 {
		token, err := d.Token()
		if err != nil {
			break
		}
		switch x := token.(type) {
		case string:
			all = append(all, x)
		case json.Number:
			all = append(all, x.String())
		default:
			all = append(all, "")
		}
	}
	return all
}

// decoded is what a text is the encoding of.
func decoded(text string) (all []string) {
	decoders := []func(string) ([]byte, error){base64.RawStdEncoding.DecodeString, hex.DecodeString, unescaped}
	for _, part := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" .:\"", c) }) {
		for _, decode := range decoders {
			inner, err := decode(strings.TrimRight(part, "="))
			if err == nil && len(inner) >= 4 && printable.Match(inner) {
				all = append(all, string(inner))
			}
		}
	}
	return all
}

func unescaped(text string) ([]byte, error) {
	inner, err := url.QueryUnescape(text)
	return []byte(inner), err
}
