package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// newEtcdCommand runs a single etcd member on loopback. It never syncs to disk: the data lives as long as the test.
func newEtcdCommand() *cobra.Command {
	var data, client, peer string
	command := &cobra.Command{
		Use:           "etcd",
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			return serveEtcd(data, client, peer)
		},
	}
	command.Flags().StringVar(&data, "data-dir", "", "folder of the member's data")
	command.Flags().StringVar(&client, "client-url", "", "address for clients, for instance http://127.0.0.1:2379")
	command.Flags().StringVar(&peer, "peer-url", "", "address for peers")
	return command
}

func serveEtcd(data, client, peer string) error {
	clientURL, err := url.Parse(client)
	if err != nil {
		return err
	}
	peerURL, err := url.Parse(peer)
	if err != nil {
		return err
	}
	config := embed.NewConfig()
	config.Dir = data
	config.LogLevel = "error"
	config.UnsafeNoFsync = true
	config.ListenClientUrls, config.AdvertiseClientUrls = []url.URL{*clientURL}, []url.URL{*clientURL}
	config.ListenPeerUrls, config.AdvertisePeerUrls = []url.URL{*peerURL}, []url.URL{*peerURL}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	member, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer member.Close()
	select {
	case <-member.Server.ReadyNotify():
	case <-time.After(30 * time.Second):
		return fmt.Errorf("etcd was not ready after 30 s")
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-stop:
		return nil
	case err := <-member.Err():
		return err
	}
}
