package party

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// actAs makes the test binary behave like one of the programs that a run starts.
const actAs = "PARTY_TEST_ACT_AS"

func TestMain(m *testing.M) {
	if role := os.Getenv(actAs); role != "" {
		act(role)
		return
	}
	goleak.VerifyTestMain(m)
}

// act plays a child.
func act(role string) {
	switch role {
	case "fails":
		fmt.Fprintln(os.Stderr, "starting")
		fmt.Fprintln(os.Stderr, "listen on 127.0.0.1:1: permission denied")
		os.Exit(2)
	case "hangs":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println(`{"phase":"ready"}`)
		time.Sleep(time.Minute)
	case "port taken": // its working directory is the cell's folder
		f, err := os.OpenFile("tries", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		fmt.Fprint(f, "x")
		_ = f.Close()
		fmt.Fprintln(os.Stderr, "k8s-watch: listen tcp 127.0.0.1:7: bind: address already in use")
		os.Exit(1)
	case "silent": // another watcher, without metrics
		time.Sleep(time.Minute)
	case "starts once": // as a mock that finds its port taken the second time
		born := os.Getenv("BORN")
		if _, err := os.Stat(born); err == nil {
			fmt.Fprintln(os.Stderr, "listen tcp 127.0.0.1:7: bind: address already in use")
			os.Exit(1)
		}
		if err := os.WriteFile(born, nil, 0o600); err != nil {
			panic(err)
		}
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println(`{"listen":["127.0.0.1:7"],"admin":"127.0.0.1:8"}`)
		<-c
	case "obeys":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println(`{"phase":"ready"}`)
		<-c
	case "breaks":
		fmt.Println(`{"phase":"prepare"}`)
		fmt.Println(`{"phase":"error","error":"the namespace is terminating"}`)
		time.Sleep(time.Minute)
	case "loads":
		fmt.Println("this is no protocol line")
		fmt.Println(`{"phase":"ready"}`)
		var line string
		_, _ = fmt.Scanln(&line)
		fmt.Println(`{"phase":"load","started":5,"planned":40}`)
		fmt.Println(`{"phase":"load","done":20,"fraction":0.5}`)
		fmt.Println(`{"phase":"loaded","finished":77}`)
		_, _ = fmt.Scanln(&line)
		fmt.Println(`{"phase":"done"}`)
	}
}
