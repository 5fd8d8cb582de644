"""The systems that fmfkit-bench has adapters for, one module each, imported where the system is installed."""

from __future__ import annotations

from fmfkit_bench.peers.interface import System

_HERE = "fmfkit_bench.peers.adapters"
SYSTEMS = (
    System("fmfkit", "fmfkit", "fmfkit", f"{_HERE}.fmfkit:Fmfkit"),
    System("fmfkit, no setting", "fmfkit", "fmfkit", f"{_HERE}.fmfkit:Untuned"),
    System("fmfkit, sampled", "fmfkit", "fmfkit", f"{_HERE}.fmfkit:Sampled", bayesian=True),
    System("cmfrec", "cmfrec", "cmfrec", f"{_HERE}.cmfrec:Cmfrec"),
    System("EASE", "numpy", "numpy", f"{_HERE}.linear:EASE"),
    System("implicit ALS", "implicit", "implicit", f"{_HERE}.implicit:ALS"),
    System("implicit BPR", "implicit", "implicit", f"{_HERE}.implicit:BPR"),
    System("irspack iALS", "irspack", "irspack", f"{_HERE}.irspack:Irspack"),
    System("LIBMF", "libmf", "libmf", f"{_HERE}.libmf:Libmf"),
    System("LightFM", "lightfm", "lightfm-next", f"{_HERE}.lightfm:LightFM"),
    System("myFM", "myfm", "'myfm' 'setuptools<81'", f"{_HERE}.myfm:MyFM", bayesian=True),
    System("ridge regression", "numpy", "numpy", f"{_HERE}.linear:Ridge"),
    System("Surprise SVD", "surprise", "scikit-surprise", f"{_HERE}.surprise:Surprise"),
)

__all__ = ["SYSTEMS"]
