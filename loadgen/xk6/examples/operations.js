// Single operations: pods that are created, bound and deleted by hand.
//
//   bin/k6 run -e KUBECONFIG=… -e OPLOG=ops.ndjson.zst loadgen/xk6/examples/operations.js
import { check } from 'k6';
import { Churn } from 'k6/x/podchurn';

export const options = {
  vus: 2,
  iterations: 6,
  thresholds: { checks: ['rate==1'], podchurn_op_failed: ['rate==0'] },
  setupTimeout: '5m',
  teardownTimeout: '5m',
};

const churn = new Churn({
  kubeconfig: __ENV.KUBECONFIG,
  opLog: __ENV.OPLOG,
  plan: {
    runID: 'k6-operations',
    model: 'closed',
    threads: 2,
    duration: '1m',
    stages: [{ stage: 'create' }, { stage: 'bind' }, { stage: 'running' }, { stage: 'delete' }],
  },
});

export function setup() {
  churn.prepare();
}

export default function () {
  const pod = churn.createPod();
  pod.bind();
  pod.running();
  pod.delete();
  check(pod, {
    'all four are acknowledged': (p) => p.results().length === 4 && p.results().every((r) => r.ok),
    'nothing is left of its life': (p) => p.next() === '',
  });
}

export function teardown() {
  churn.finish();
}
