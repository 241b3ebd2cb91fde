// Package watchfault injects faults into the watch side: it stands before an apiserver, real or simulated, as an
// http.Handler, and answers, delays, cuts and garbles lists and watches.
//
// # Grammar
//
// It is the grammar of storage faults. Faults are separated by commas. Each is an effect, arguments in parentheses, and
// after a colon its probability (100 % when absent):
//
//	close(1s,5s), 410(mid):1%, truncate:0.5%
//	429(retry-after=2s, kind=Pod, verb=list):10%
//	gone(60s, from=10s)
//
// Answers, drawn per request; the first that hits counts:
//
//	400 … 599         that Status; retry-after=2s adds the header
//	410(start)        a watch begins with the ERROR event that its version is too old;
//	                  verb=stream does that to a streaming list, which apiservers do
//	                  not, and on which client-go tries again without a pause
//	no-stream         a streaming list is refused before its headers
//	older(n)          the answer of a cache that is n versions behind: a streaming
//	                  list shows that state, a watch repeats the changes since then
//	stall(d)          everything as usual, d later
//	blackhole         no answer until the client gives up
//
// Courses, drawn per watch, also for watches that are open when their time comes:
//
//	close(a), close(a,b)   the watch ends normally a after it opened, or at random
//	                       between a and b
//	reset, reset(a,b)      the same, but the connection is reset; at once without a
//	silent, silent(d)      nothing comes, for d or until the end; what was due comes later.
//	                       A streaming list is silent after its closing bookmark
//	no-bookmark            a streaming list does not get its closing bookmark
//
// Events, drawn per ADDED, MODIFIED or DELETED, but for those of a streaming list before its closing bookmark:
//
//	410(mid)          ERROR instead of the event: the version is too old; the watch ends
//	error             ERROR 500 instead of the event; the watch ends
//	truncate          half of the event's line, and the watch ends
//	unknown           an event of no known type before the event
//	junk              a line of HTML before the event
//	lost(deleted)     the event is lost: of that type (added, modified, deleted) or, without
//	                  an argument, of any. Later lists are right
//
// And gone(d), or refuse(for=d): connections are refused, open ones are reset.
//
// Filters, all of which must hold: kind=Pod|nodes, the Kind or the plural of URLs; verb=list|page|watch|stream|other,
// where page is a list with a continue token, stream a streaming list, and other everything else, such as discovery,
// which is only hit where it is named.
//
// Times: from=10s after the fault was set or the start was given, for=60s, every=30s for repeated windows. max=5 ends
// it after so many firings. name=x names it in the counts.
//
// With one seed the nth request for a path meets the same faults, whatever happens on other paths.
//
// Frames are seen in JSON only; a watch that takes JSON beside other encodings is asked for in JSON.
package watchfault
