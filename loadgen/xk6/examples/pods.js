// The operations of a plan's pods at a constant rate, with thresholds.
//
//   bin/k6 run -e KUBECONFIG=… -e OPLOG=ops.ndjson.zst loadgen/xk6/examples/pods.js
import { check } from 'k6';
import { Churn } from 'k6/x/podchurn';

export const options = {
  scenarios: {
    pods: { executor: 'constant-arrival-rate', rate: 20, timeUnit: '1s', duration: '5s', preAllocatedVUs: 20 },
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
  plan: { runID: 'k6-pods', model: 'open', rate: 20, duration: '6s', lifecycle: 'pod/fast', namespaces: 2, survivors: 0 },
});

export function setup() {
  churn.prepare();
}

export default function () {
  check(churn.step(), { 'there was something to send': (sent) => sent });
}

export function teardown() {
  churn.finish();
}
