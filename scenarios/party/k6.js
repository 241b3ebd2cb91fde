// A scenario's load with `driver: k6`: the plan's operations.
import { Churn } from 'k6/x/podchurn';

const load = JSON.parse(__ENV.WATCHBENCH_K6);

export const options = {
  scenarios: { load: load.executor },
  setupTimeout: '24h', // it waits for the go-ahead
  teardownTimeout: '10m',
};

const churn = new Churn({ kubeconfig: load.kubeconfig, opLog: load.opLog, plan: load.plan, shard: load.shard, wait: true });

export function setup() {
  churn.prepare();
}

export default function () {
  // Under an arrival rate an iteration is one operation, otherwise all of a virtual user's.
  while (churn.step() && !load.arrivals);
}

export function teardown() {
  churn.finish();
}
