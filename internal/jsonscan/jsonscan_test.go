package jsonscan_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/watchbench/watchbench/internal/jsonscan"
)

var samples = []string{
	``, ` `, `{}`, `[]`, `""`, `0`, `-0`, `-`, `01`, `1.`, `1.5`, `1e`, `1e+`, `1E-7`, `-1.25e10`, `.5`, `+1`,
	`true`, `false`, `null`, `tru`, `nulll`, `{"a":1}`, `{"a":1,}`, `{,}`, `{"a"}`, `{"a":}`, `{a:1}`, `[1,2,3]`, `[1,]`, `[,1]`,
	`{"a":{"b":[{"c":"d"}]}}`, `"abc`, `"a\nb"`, "\"a\nb\"", "\"\x01\"", "\"\x7f\"", `"\u12g4"`, `"\u12"`, `"\ud83d\ude00"`, `"\x"`, `"\`,
	`"12345678"`, `"1234567"`, `"123456789\"0"`, `"12345678` + "\x1f" + `"`, "\"\xff\xfe\"", `"日本語テキスト"`,
	" {\n\t\"a\" : [ 1 , 2 ] }\r\n", "\v{}", `{} {}`, `[[[[[]]]]]`, `{"a":1 "b":2}`, `[1 2]`, `"\u@000"`, `"\u 000"`, `"\u000G"`,
}

func valid(b []byte) error {
	s := jsonscan.New(b)
	if _, err := s.Value(); err != nil {
		return err
	}
	return s.End()
}

func TestValueAcceptsWhatEncodingJSONAccepts(t *testing.T) {
	for _, in := range samples {
		if err := valid([]byte(in)); (err == nil) != json.Valid([]byte(in)) {
			t.Errorf("%q: scanner says %v, encoding/json says valid=%v", in, err, json.Valid([]byte(in)))
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	deep := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	if err := valid(deep(jsonscan.MaxDepth)); err != nil {
		t.Errorf("depth %d: %v", jsonscan.MaxDepth, err)
	}
	var syntax *jsonscan.SyntaxError
	if err := valid(deep(jsonscan.MaxDepth + 1)); !errors.As(err, &syntax) {
		t.Errorf("depth %d: got %v, want a SyntaxError", jsonscan.MaxDepth+1, err)
	}
}

func TestEveryPrefixIsUnexpectedEnd(t *testing.T) {
	const whole = `{"a":[1.5e+3,true,null,"x\u00e9\n"],"b":{"c":-0.1}}`
	for n := range len(whole) {
		s := jsonscan.New([]byte(whole[:n]))
		if _, err := s.Value(); !errors.Is(err, jsonscan.ErrUnexpectedEnd) {
			t.Errorf("prefix %q: got %v, want ErrUnexpectedEnd", whole[:n], err)
		}
	}
}

func TestStringText(t *testing.T) {
	for _, text := range []string{"", "plain", `quote " and \ slash`, "tab\tnl\n\x00", "日本語", "😀", "</script>"} {
		enc, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, form := range [][]byte{enc, jsonscan.AppendString(nil, text)} {
			s := jsonscan.New(form)
			str, err := s.String()
			if err != nil {
				t.Fatalf("%s: %v", form, err)
			}
			if got := str.Text(form); got != text {
				t.Errorf("%s: got %q, want %q", form, got, text)
			}
			if !str.Is(form, text) {
				t.Errorf("%s: Is(%q) = false", form, text)
			}
		}
	}
}

func FuzzValue(f *testing.F) {
	for _, in := range samples {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if err := valid(in); (err == nil) != json.Valid(in) {
			t.Errorf("%q: scanner says %v, encoding/json says valid=%v", in, err, json.Valid(in))
		}
	})
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\"b\\c\x01\xff")
	f.Fuzz(func(t *testing.T, in string) {
		out := jsonscan.AppendString(nil, in)
		var got string
		if err := json.Unmarshal(out, &got); err != nil {
			t.Fatalf("%q became %s: %v", in, out, err)
		}
		enc, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var want string
		if err := json.Unmarshal(enc, &want); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%q became %q, encoding/json makes it %q", in, got, want)
		}
	})
}
