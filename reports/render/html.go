package render
import ("io";"github.com/watchbench/watchbench/reports/result")
func HTML(w io.Writer, r *result.Results) error {return nil}
