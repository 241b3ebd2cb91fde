package access

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// requirement is one of a selector as reviews have it, for labels and for fields.
type requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values,omitempty"`
}

type requirements struct {
	Requirements []requirement `json:"requirements"`
}

// limit makes the selector of a review. Requirements limit a request; one that a review
// cannot express, and a selector that is wrong, are left out: the question is then for
// more, never for less than what the request reads.
func limit(rs []requirement) *requirements {
	if len(rs) == 0 {
		return nil
	}
	return &requirements{rs}
}

func labelLimit(selector string) *requirements {
	s, err := labels.Parse(selector)
	if err != nil {
		return nil
	}
	all, _ := s.Requirements()
	var rs []requirement
	for _, r := range all {
		switch r.Operator() {
		case selection.Exists:
			rs = append(rs, requirement{Key: r.Key(), Operator: string(metav1.LabelSelectorOpExists)})
		case selection.DoesNotExist:
			rs = append(rs, requirement{Key: r.Key(), Operator: string(metav1.LabelSelectorOpDoesNotExist)})
		default:
			if op := operator(r.Operator()); op != "" {
				rs = append(rs, requirement{r.Key(), op, r.ValuesUnsorted()})
			}
		}
	}
	return limit(rs)
}

// fieldLimit also returns the name of the one object that the selector can match, as the
// apiserver takes it for a request's name.
func fieldLimit(selector string) (_ *requirements, name string) {
	s, err := fields.ParseSelector(selector)
	if err != nil {
		return nil, ""
	}
	var rs []requirement
	for _, r := range s.Requirements() {
		if op := operator(r.Operator); op != "" {
			rs = append(rs, requirement{r.Field, op, []string{r.Value}})
		}
	}
	name, _ = s.RequiresExactMatch("metadata.name")
	return limit(rs), name
}

// operator returns a review's operator; "" where it has none (gt, lt).
func operator(op selection.Operator) string {
	switch op {
	case selection.Equals, selection.DoubleEquals, selection.In:
		return string(metav1.LabelSelectorOpIn)
	case selection.NotEquals, selection.NotIn:
		return string(metav1.LabelSelectorOpNotIn)
	}
	return ""
}
