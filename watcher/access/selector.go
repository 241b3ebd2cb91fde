package access

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// The selectors of a review: their requirements limit a request. One that a review cannot express, and a
// selector that is wrong, are left out: the question is then for more, never for less than what the request reads.

func labelLimit(selector string) *authorizationv1.LabelSelectorAttributes {
	s, err := labels.Parse(selector)
	if err != nil {
		return nil
	}
	all, _ := s.Requirements()
	var limit authorizationv1.LabelSelectorAttributes
	for _, r := range all {
		if op := operators[r.Operator()]; op != "" {
			one := metav1.LabelSelectorRequirement{Key: r.Key(), Operator: op, Values: r.ValuesUnsorted()}
			if op == metav1.LabelSelectorOpExists || op == metav1.LabelSelectorOpDoesNotExist {
				one.Values = nil
			}
			limit.Requirements = append(limit.Requirements, one)
		}
	}
	if limit.Requirements == nil {
		return nil
	}
	return &limit
}

// fieldLimit also returns the name of the one object that the selector can match, as the
// apiserver takes it for a request's name.
func fieldLimit(selector string) (_ *authorizationv1.FieldSelectorAttributes, name string) {
	s, err := fields.ParseSelector(selector)
	if err != nil {
		return nil, ""
	}
	var limit authorizationv1.FieldSelectorAttributes
	for _, r := range s.Requirements() {
		if op := operators[r.Operator]; op != "" {
			limit.Requirements = append(limit.Requirements, metav1.FieldSelectorRequirement{Key: r.Field,
				Operator: metav1.FieldSelectorOperator(op), Values: []string{r.Value}})
		}
	}
	name, _ = s.RequiresExactMatch("metadata.name")
	if limit.Requirements == nil {
		return nil, name
	}
	return &limit, name
}

// operators are a review's; it has none for gt and lt.
var operators = map[selection.Operator]metav1.LabelSelectorOperator{
	selection.Equals: metav1.LabelSelectorOpIn, selection.DoubleEquals: metav1.LabelSelectorOpIn,
	selection.In: metav1.LabelSelectorOpIn, selection.NotEquals: metav1.LabelSelectorOpNotIn,
	selection.NotIn: metav1.LabelSelectorOpNotIn, selection.Exists: metav1.LabelSelectorOpExists,
	selection.DoesNotExist: metav1.LabelSelectorOpDoesNotExist,
}
