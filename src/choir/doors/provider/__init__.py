"""The provider's process: takes jobs from a node, lets workers do them, hands in what came out.

It is a program of its own, perhaps on a machine of its own. It speaks to the node through the SDK and knows nothing
else of it: no database, no service of the node is imported here.

    home.py        the folder with the keys, one process at a time
    seller.py      who sells: a token, a login, or an agent that stands on the folder's key
    machine.py     the sandbox, the workers and the pool of this machine
    enrolling.py   registering, claims, types
    serving.py     the loop: signs of life, events, taking work, draining
    carrying.py    one attempt from taken to handed in or given back
    fetching.py    an order with its inputs, from a node that is not trusted with this machine
    delivering.py  handing in
    telling.py     what happens, as lines for people or for machines
    view.py        the same as a live view
    trying.py      a worker on a folder of one's own, without any node
"""
