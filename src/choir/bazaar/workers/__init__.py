"""Workers: what a provider's machine does with a job. No database and no HTTP.

    with Workshop(PooledRunner(pool), folder, limits, verification, sandbox) as shop:
        fulfils = Fulfilling(key, clock, limits)  # the provider's key signs what comes out
        with WorkerPool(workers(["builtin"], shop, os.environ), fulfils, limits) as pool:
            outcome = pool.submit(order).result()  # Fulfilled: artifact, result, trajectory, signatures

Built in, without a model: run, review, fix. Anything else is an agent as a command.
"""
