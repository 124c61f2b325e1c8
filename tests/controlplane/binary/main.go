// The Kubernetes control plane as one program, for tests: etcd, kube-apiserver, kube-scheduler and the controllers are
// sub-commands, each meant to run as a process of its own (they share global gates, logging and metrics otherwise).
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	cliflag "k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: controlplane etcd|apiserver|scheduler|controllers [flags]")
		os.Exit(2)
	}
	dieWithParent()
	commands := map[string]func() *cobra.Command{
		"etcd":        newEtcdCommand,
		"apiserver":   apiserver.NewAPIServerCommand,
		"scheduler":   func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"controllers": controllers.NewControllerManagerCommand,
	}
	name := os.Args[1]
	build, known := commands[name]
	if !known {
		fmt.Fprintf(os.Stderr, "controlplane: there is no sub-command %q\n", name)
		os.Exit(2)
	}
	os.Args = append([]string{name}, os.Args[2:]...)
	os.Exit(cliflag.Run(build()))
}
