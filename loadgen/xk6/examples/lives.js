// Whole lives of pods at a constant arrival rate, with thresholds.
//
//   bin/k6 run -e KUBECONFIG=… -e OPLOG=ops.ndjson.zst loadgen/xk6/examples/lives.js
import { check } from 'k6';
import { Churn } from 'k6/x/podchurn';

export const options = {
  scenarios: {
    lives: { executor: 'constant-arrival-rate', rate: 2, timeUnit: '1s', duration: '5s', preAllocatedVUs: 20 },
  },
  thresholds: {
    podchurn_op_failed: ['rate==0'],
    'podchurn_op_from_intended{op:create}': ['p(99)<5000'],
    dropped_iterations: ['count==0'],
  },
  setupTimeout: '5m',
  teardownTimeout: '5m',
};

const churn = new Churn({
  kubeconfig: __ENV.KUBECONFIG,
  opLog: __ENV.OPLOG,
  plan: { runID: 'k6-lives', model: 'closed', threads: 20, duration: '5s', lifecycle: 'pod/fast', namespaces: 2 },
});

export function setup() {
  churn.prepare();
}

export default function () {
  check(churn.life(), { 'every stage is acknowledged': (results) => results.every((r) => r.ok) });
}

export function teardown() {
  churn.finish();
}
