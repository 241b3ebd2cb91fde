package render

import (
	"encoding/xml"
	"fmt"
	"io"
)

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Suites []junitSuite `xml:"testsuite"`
}

type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

// count adds the outcome of one case.
func (n *junitCounts) count(c junitCase) {
	n.Tests++
	switch {
	case c.Failure != nil:
		n.Failures++
	case c.Error != nil:
		n.Errors++
	case c.Skipped != nil:
		n.Skipped++
	}
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string        `xml:"name,attr"`
	Class     string        `xml:"classname,attr"`
	Failure   *junitOutcome `xml:"failure"`
	Error     *junitOutcome `xml:"error"`
	Skipped   *junitOutcome `xml:"skipped"`
	SystemOut string        `xml:"system-out,omitempty"`
}

type junitOutcome struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// outcome returns a cleaned message and text.
func outcome(message, text string) *junitOutcome {
	return &junitOutcome{Message: clean(message), Text: cleanLines(text)}
}

// writeJUnit writes suites; those without a case are left out.
func writeJUnit(w io.Writer, name string, suites []junitSuite) error {
	all := junitSuites{Name: clean(name)}
	for _, s := range suites {
		if len(s.Cases) == 0 {
			continue
		}
		s.Name = clean(s.Name)
		for i := range s.Cases {
			c := &s.Cases[i]
			c.Name, c.SystemOut = clean(c.Name), cleanLines(c.SystemOut)
			s.count(*c)
			all.count(*c)
		}
		for i, p := range s.Properties {
			s.Properties[i] = junitProperty{clean(p.Name), clean(p.Value)}
		}
		all.Suites = append(all.Suites, s)
	}
	data, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, data)
	return err
}
