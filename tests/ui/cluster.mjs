/** The local cluster of a story, asked as an administrator asks it: past the product. */

import { readFileSync } from 'node:fs';
import { request } from 'node:https';

/** One request with the cluster's own kubeconfig (the local cluster's is JSON); resolves with the status. */
export function askCluster(server, method, path, body = null) {
  const { kubeconfig } = JSON.parse(server.dra('local', 'status', '-o', 'json').out);
  const { clusters, users } = JSON.parse(readFileSync(kubeconfig, 'utf8'));
  const { cluster } = clusters[0];
  const options = {
    method,
    ca: Buffer.from(cluster['certificate-authority-data'], 'base64'),
    headers: { Authorization: `Bearer ${users[0].user.token}`, 'Content-Type': 'application/json' }
  };
  return new Promise((done, failed) => {
    const asked = request(`${cluster.server}${path}`, options, answer => answer.resume().on('end', () => done(answer.statusCode)));
    asked.on('error', failed).end(body === null ? undefined : JSON.stringify(body));
  });
}

/**
 * Holds the next pod back for so long, so that a start can be looked at whatever the machine's speed. A cluster that was
 * given has no such lever, and takes its time anyway.
 */
export async function holdNextPod(server, seconds) {
  if (server.ownCluster) {
    const fault = { delay: { seconds, verb: 'create', resource: 'pods' } };
    const status = await askCluster(server, 'POST', '/jupyter-dra/faults', fault);
    if (status !== 200) {
      throw new Error(`the cluster refused the fault: ${status}`);
    }
  }
}
